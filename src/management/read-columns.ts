import type { TSchema } from '@sinclair/typebox';
import type { Fields } from '../shell/context.ts';
import type { Resource, Values } from './resource.ts';

/**
 * Reads column values from form fields with the same names. The schema determines the type: boolean for a checkbox,
 * number or string for other fields. An empty field becomes null if the column is nullable. Invalid numbers are left
 * for validation to reject.
 */
export const readColumns = ({ input }: Resource, fields: Fields, names: readonly string[]): Values =>
  Object.fromEntries(names.map((name) => [name, readColumn(fields, name, input.properties[name] as TSchema)]));

function readColumn(fields: Fields, name: string, schema: TSchema): unknown {
  const schemas = (schema.anyOf ?? [schema]) as readonly TSchema[];
  const types = schemas.map(({ type }) => type as string);
  if (types.includes('boolean')) return fields.checked(name);
  if (types.includes('integer') || types.includes('number')) return fields.number(name);
  return fields.text(name) || (types.includes('null') ? null : '');
}
