import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';

type Serialize = (value: unknown) => string;

const buildCompiler = SerializerSelector();

/**
 * Compiles the serializer of a response when it is first sent: those of all routes together were a third of the CPU
 * time of a start.
 */
export const lazySerializers: typeof buildCompiler = (externalSchemas, options) => {
  const compile = buildCompiler(externalSchemas, options);
  return (route) => {
    let serialize: Serialize | undefined;
    return (value) => {
      serialize ??= compile(route);
      return serialize(value);
    };
  };
};
