"""Messages of DataHub's topics, as DataWorks writes them."""
