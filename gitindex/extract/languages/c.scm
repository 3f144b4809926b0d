; include cfamily
