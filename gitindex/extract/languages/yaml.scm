[(block_mapping_pair key: (_)) (flow_pair key: (_))] @pair
