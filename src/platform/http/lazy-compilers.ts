import AjvCompiler from '@fastify/ajv-compiler';
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';

/*
 * What checks a request and what serializes a response is compiled when it is first used: together, those of all
 * routes were half of the CPU time of a start.
 */

type Serialize = (value: unknown) => string;

const buildSerializerCompiler = SerializerSelector();

export const lazySerializers: typeof buildSerializerCompiler = (externalSchemas, options) => {
  const compile = buildSerializerCompiler(externalSchemas, options);
  return (route) => {
    let serialize: Serialize | undefined;
    return (value) => {
      serialize ??= compile(route);
      return serialize(value);
    };
  };
};

export const validatorOptions = { coerceTypes: false, removeAdditional: false, useDefaults: true, allErrors: false };

/** `errors` are those of the last call, as Ajv does it. */
type Validate = { (value: unknown): unknown; errors?: unknown };

const buildValidatorCompiler = AjvCompiler();

export const lazyValidators: typeof buildValidatorCompiler = (externalSchemas, options) => {
  let compile: ReturnType<typeof buildValidatorCompiler> | undefined;
  return (route) => {
    let compiled: Validate | undefined;
    const validate: Validate = (value) => {
      compile ??= buildValidatorCompiler(externalSchemas, options);
      compiled ??= compile(route) as Validate;
      const result = compiled(value);
      validate.errors = compiled.errors;
      return result;
    };
    return validate as ReturnType<typeof compile & {}>;
  };
};
