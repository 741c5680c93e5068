"""Building blocks that results share: integration, the loss of a linear map, networks in reduced form."""
