import { type Html, html, nothing } from '../../platform/http/html.ts';
import type { ApiDocument } from '../openapi/example-request.ts';
import { isNode, type Node } from '../openapi/operation-components.ts';
import { inlineText } from '../site/inline-text.ts';
import { resolve } from './described.ts';

/** Maximum nesting depth shown on the page. Deeper levels are only in the description file. */
const maxDepth = 5;

/** Field in a list. `isOpen` means that its members are expanded. */
type Field = { name: string; schema: Node; isRequired: boolean; isOpen?: boolean; description?: string };

/** Names of the objects around a field, and a function that renders what else is known about the field at a path. */
type FieldContext = { parents: readonly string[]; noteOf: (path: string) => Html };

const noContext: FieldContext = { parents: [], noteOf: () => nothing };

/** Renders a list of the members of an object or, for an array, of the objects in it. */
export function fieldsOf(document: ApiDocument, node: Node, context = noContext): Html {
  const schema = membersOf(document, node);
  if (schema === null || context.parents.length > maxDepth) return nothing;
  const required = (schema.required as string[] | undefined) ?? [];
  const properties = Object.entries(schema.properties as Record<string, Node>);
  const isOnly = properties.length === 1;
  return html`<ul class="fields">${properties.map(([name, property]) =>
    fieldOf(document, { name, schema: property, isRequired: required.includes(name), isOpen: isOnly }, context),
  )}</ul>`;
}

export function fieldOf(
  document: ApiDocument,
  { name, schema, isRequired, isOpen, description }: Field,
  { parents, noteOf } = noContext,
): Html {
  const full = resolve(document, schema);
  const text = description ?? full.description;
  const path = [...parents, name];
  const members = fieldsOf(document, schema, { parents: path, noteOf });
  return html`
  <li>
    <p class="field">
      <code>${name}</code> <span>${typeOf(document, schema)}</span>${isRequired && html` <strong>required</strong>`}
    </p>
    ${typeof text === 'string' && html`<p>${inlineText(text)}</p>`}
    ${limitsOf(document, full)}
    ${noteOf(path.join('.'))}
    ${
      members !== nothing &&
      html`<details${isOpen && html` open`}><summary>Members of <code>${name}</code></summary>${members}</details>`
    }
  </li>`;
}

/** Returns the object schema that a schema contains, for example as the items of an array or as part of a union. */
function membersOf(document: ApiDocument, node: Node): Node | null {
  const { properties, items, anyOf, ...rest } = resolve(document, node);
  if (isNode(properties)) return Object.keys(properties).length === 0 ? null : { ...rest, properties };
  if (isNode(items)) return membersOf(document, items);
  for (const form of (anyOf as Node[] | undefined) ?? []) {
    const members = membersOf(document, form);
    if (members !== null) return members;
  }
  return null;
}

/** Describes a type, such as `string or null` or `array of objects`. */
export function typeOf(document: ApiDocument, node: Node): string {
  const { type, properties, items, anyOf, enum: values, const: value } = resolve(document, node);
  if (type === undefined && isNode(properties)) return 'object';
  if (Array.isArray(anyOf)) return [...new Set((anyOf as Node[]).map((form) => typeOf(document, form)))].join(' or ');
  const sample = value ?? (values as unknown[] | undefined)?.[0];
  const names = (Array.isArray(type) ? type : [type ?? (sample === undefined ? 'any' : typeof sample)]) as string[];
  const typeNames = names.map((name) =>
    name === 'array' && isNode(items) ? `array of ${typeOf(document, items)}` : name,
  );
  return typeNames.join(' or ');
}

const words: Record<string, string> = {
  minimum: 'at least',
  maximum: 'at most',
  minLength: 'characters: at least',
  maxLength: 'characters: at most',
  minItems: 'entries: at least',
  maxItems: 'entries: at most',
  default: 'default:',
};

/** Renders the allowed values, limits and default in one line. */
function limitsOf(document: ApiDocument, schema: Node): Html {
  const items = isNode(schema.items) ? resolve(document, schema.items) : {};
  const values = [schema, items].map(valuesOf).find(({ length }) => length > 0) ?? [];
  const limits = Object.entries(words).flatMap(([keyword, text]) => {
    const limit = schema[keyword];
    const isLimited = typeof limit === 'number' ? Math.abs(limit) < Number.MAX_SAFE_INTEGER : limit !== undefined;
    return isLimited && limit !== null ? [html`<span>${text} <code>${formatValue(limit)}</code></span> `] : [];
  });
  if (values.length === 0 && limits.length === 0) return nothing;
  const choice = values.map((value) => html`<code>${formatValue(value)}</code> `);
  const label = choice.length === 1 ? 'Always' : 'One of';
  return html`<p class="limits">${choice.length > 0 && html`<span>${label} ${choice}</span> `}${limits}</p>`;
}

/** Returns the only values that a schema allows, apart from null. */
export function valuesOf({ enum: values, const: value, anyOf }: Node): unknown[] {
  if (value !== undefined) return [value];
  if (Array.isArray(values)) return values;
  const forms = ((anyOf as Node[] | undefined) ?? []).filter(({ type }) => type !== 'null');
  return forms.every((form) => form.const !== undefined) ? forms.map((form) => form.const) : [];
}

export const formatValue = (value: unknown): string =>
  typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
