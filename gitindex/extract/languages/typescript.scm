; include ecma
(abstract_class_declaration) @def.class
(interface_declaration) @def.interface
(enum_declaration) @def.enum
(enum_body [(property_identifier) (enum_assignment)] @def.constant)
(type_alias_declaration) @def.type
(internal_module) @def.module
(module) @def.module
(function_signature) @def.function
(method_signature) @def.method
(abstract_method_signature) @def.method
(property_signature) @def.field
(public_field_definition) @def.field
(internal_module body: (statement_block (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier)) @def.variable))))
(type_identifier) @id
