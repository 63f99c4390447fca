import { readText } from '../architecture/source.ts';

type Operation = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  operationId: string;
  /** Whether the operation accepts an API key. */
  takesKey: boolean;
  /** Whether the request body is a CSV file. */
  takesCsv: boolean;
};

const methodNames: ReadonlySet<string> = new Set(['get', 'post', 'put', 'patch', 'delete']);

type Described = { operationId: string; security?: unknown[]; requestBody?: { content: Record<string, unknown> } };

const isCsv = ([type, ...others]: string[]): boolean => type === 'text/csv' && others.length === 0;

/** Returns all operations of the API reference. */
export function readOperations(): Operation[] {
  const { paths, security = [] } = JSON.parse(readText('docs/openapi.json')) as {
    paths: Record<string, Record<string, Described>>;
    security?: unknown[];
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => methodNames.has(method))
      .map(([method, operation]) => ({
        method: method.toUpperCase() as Operation['method'],
        path,
        operationId: operation.operationId,
        takesKey: (operation.security ?? security).length > 0,
        takesCsv: isCsv(Object.keys(operation.requestBody?.content ?? {})),
      })),
  );
}
