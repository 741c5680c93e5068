"""Deep networks of low rank on symmetric data: their structure, their linear map and their gradient flow."""
