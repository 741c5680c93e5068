"""The network and the data as arrays, and the velocity on them: layout, passes, residuals; native."""
