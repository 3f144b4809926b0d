(class_declaration) @def.class
(record_declaration) @def.class
(interface_declaration) @def.interface
(annotation_type_declaration) @def.interface
(enum_declaration) @def.enum
(enum_constant) @def.constant
(method_declaration) @def.method
(constructor_declaration) @def.method
(compact_constructor_declaration) @def.method
(annotation_type_element_declaration) @def.method
(field_declaration declarator: (variable_declarator) @def.field)
(constant_declaration declarator: (variable_declarator) @def.constant)

[(line_comment) (block_comment)] @comment
(import_declaration) @import
(method_invocation) @invoke
(object_creation_expression type: (_) @call)
[(identifier) (type_identifier)] @id
