(class name: (_)) @def.class
(module name: (_)) @def.module
(method) @def.function
(singleton_method) @def.method
(program (assignment left: (constant)) @def.constant)
(body_statement (assignment left: (constant)) @def.constant)

(comment) @comment
(call method: (identifier) !receiver arguments: (argument_list (string))) @import.call
(call method: (identifier)) @invoke
(call method: (constant)) @invoke
[(identifier) (constant) (instance_variable) (class_variable) (global_variable) (hash_key_symbol)] @id
