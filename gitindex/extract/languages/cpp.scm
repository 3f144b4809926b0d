; include cfamily
(class_specifier name: (_) body: (_)) @def.class
(namespace_definition name: (_)) @def.module
(alias_declaration) @def.type
(concept_definition) @def.type
(field_declaration declarator: (function_declarator)) @def.method
(field_declaration declarator: (reference_declarator (function_declarator))) @def.method
(field_declaration_list (declaration declarator: (function_declarator)) @def.method)
(declaration_list (declaration declarator: (init_declarator)) @def.variable)
(declaration_list (declaration declarator: (function_declarator)) @def.function)

(template_declaration parameters: (_) @lead)
(using_declaration) @import
(call_expression function: [(qualified_identifier) (template_function)] @call)
(new_expression type: (_) @call)
(namespace_identifier) @id
