(class_declaration) @def.class
(record_declaration) @def.class
(struct_declaration) @def.struct
(interface_declaration) @def.interface
(enum_declaration) @def.enum
(enum_member_declaration) @def.constant
(namespace_declaration) @def.module
(delegate_declaration) @def.type
(method_declaration) @def.method
(constructor_declaration) @def.method
(destructor_declaration) @def.method
(local_function_statement) @def.function
(property_declaration) @def.field
(event_declaration) @def.field
(field_declaration (variable_declaration (variable_declarator) @def.field))
(event_field_declaration (variable_declaration (variable_declarator) @def.field))

(comment) @comment
(using_directive) @import
(invocation_expression function: [(identifier) (generic_name) (member_access_expression) (conditional_access_expression)] @call)
(object_creation_expression type: (_) @call)
(identifier) @id
