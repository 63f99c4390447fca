import { AppError, type ErrorDetail } from '../platform/errors.ts';
import { apiText } from './api-text.ts';

/** The submitted fields by name; unchecked boxes are absent. */
export type Fields = {
  /** The first value, trimmed and with \n as line end; empty when there is none. */
  text: (name: string) => string;
  all: (name: string) => string[];
  /** Whether a box is checked. */
  checked: (name: string) => boolean;
  /** A number; null: empty. Anything else stays a text, which the validation of the value refuses. */
  number: (name: string) => number | string | null;
  /** Rows of a list whose fields are named `{list}.{index}.…`. */
  rowCount: (list: string) => number;
};

/** Reads a submitted form. NUL, which no text column can store, is dropped. */
export function fieldsOf(params: URLSearchParams): Fields {
  const clean = (text: string): string => text.replaceAll('\0', '').replaceAll('\r\n', '\n').trim();
  const text = (name: string): string => clean(params.get(name) ?? '');
  return {
    text,
    rowCount: (list) => rowCountOf(params.keys(), list),
    all: (name) => params.getAll(name).map(clean),
    checked: (name) => params.has(name),
    number: (name) => {
      const typed = text(name);
      if (typed === '') return null;
      return /^-?\d{1,15}(\.\d{1,9})?$/.test(typed) ? Number(typed) : typed;
    },
  };
}

/** Rows that fields named `{list}.{index}.…` make up (count). */
export function rowCountOf(names: Iterable<string>, list: string): number {
  let count = 0;
  for (const name of names) {
    const index = name.startsWith(`${list}.`) ? /^\d{1,3}(?=\.)/.exec(name.slice(list.length + 1))?.[0] : undefined;
    if (index !== undefined) count = Math.max(count, Number(index) + 1);
  }
  return count;
}

/** Validation errors by field; paths are JSON pointers: `/rules/country` is an error of the field `rules.country`. */
export type FieldErrors = readonly ErrorDetail[];

/** The validation errors of a refused change, in the language of the reader; rethrows every other error. */
export function fieldErrorsOf(err: unknown): FieldErrors {
  if (err instanceof AppError && err.status < 500 && err.status !== 403 && err.status !== 404)
    return (err.details ?? [{ path: '/', message: err.message }]).map(({ path, message }) => ({
      path,
      message: apiText(message),
    }));
  throw err;
}
