import { readFileSync } from 'node:fs';

/**
 * Returns docs/openapi.json with all references resolved. Other tests check that the file matches the routes.
 */
export function readApiDescription<Description>(): Description {
  const document = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'));
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    if (!('$ref' in value))
      return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, resolve(child)]));
    const { $ref, ...beside } = value as { $ref: string };
    return { ...(resolve(findReference(document, $ref)) as object), ...beside };
  };
  const resolved = resolve(document) as { paths: Record<string, PathItem> };
  for (const [path, { parameters: shared = [], ...methods }] of Object.entries(resolved.paths)) {
    for (const operation of Object.values(methods)) operation.parameters = [...shared, ...(operation.parameters ?? [])];
    resolved.paths[path] = methods as PathItem;
  }
  return resolved as Description;
}

type PathItem = { parameters?: object[] } & { [method: string]: { parameters?: object[] } };

/**
 * Returns the target of a reference such as `#/components/schemas/Offer`.
 * @throws if it does not exist
 */
export function findReference(document: object, $ref: string): unknown {
  let target: unknown = document;
  for (const part of $ref.replace(/^#\//, '').split('/'))
    target = (target as Record<string, unknown> | undefined)?.[part];
  if (target === undefined) throw new Error(`${$ref} names nothing`);
  return target;
}
