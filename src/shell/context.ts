import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, type ErrorDetail } from '../platform/errors.ts';
import type { ReaderLanguage } from '../platform/i18n/languages.ts';
import { t } from '../platform/i18n/messages.ts';
import { apiText } from './api-text.ts';

/**
 * operator  belongs to no publisher and has access to all of them
 * admin     of one publisher: settings, keys, endpoints and users
 * manager   of one publisher: offers, campaigns and deliveries
 * analyst   of one publisher: read only
 * advertiser  of one advertiser: sees its campaigns, and proposes changes of them; no page of a publisher is open to it
 */
const roles = ['advertiser', 'analyst', 'manager', 'admin', 'operator'] as const;
export type Role = (typeof roles)[number];

export const isRole = (name: string): name is Role => (roles as readonly string[]).includes(name);

/** A role that a publisher has made of permissions. */
export type CustomRole = { id: number; name: string; permissions: readonly string[] };
export type MemberRole = Role | CustomRole;

/** What a role that is made of permissions needs for the pages of a role; null: none. */
const pagePermissions: Readonly<Record<Exclude<Role, 'operator'>, string | null>> = {
  advertiser: null,
  analyst: null,
  manager: 'offers/management',
  admin: 'configurations',
};

/** Each role includes the ones before it; one that is made of permissions, what these open. */
export function hasRole(role: MemberRole, required: Role): boolean {
  if (typeof role === 'string') return roles.indexOf(role) >= roles.indexOf(required);
  if (required === 'operator') return false;
  const permission = pagePermissions[required];
  return permission === null || role.permissions.includes(permission);
}

/** A person with one sign-in, as a member of one publisher. */
export type User = {
  id: number;
  email: string;
  membershipId: number;
  role: MemberRole;
  /** null: an operator, or of an advertiser. */
  publisherId: number | null;
  /** Of an advertiser's accounts; null: of all others. */
  advertiserId: number | null;
  /** false: invited, and the invitation is not accepted yet. */
  hasJoined: boolean;
  hasPassword: boolean;
  /** An authenticator app or a passkey. */
  hasTwoFactor: boolean;
  hasAuthenticatorApp: boolean;
  /** Signs in at the OpenID provider, and has no password. */
  isLinked: boolean;
  /** Of the membership. */
  disabled: boolean;
  /** null: by the browser's. */
  language: ReaderLanguage | null;
  createdAt: Date;
};

/** The signed-in user with their session. */
export type Viewer = {
  /** As a member of the publisher in the address, elsewhere of the one that was opened last. */
  user: User;
  /** The publishers that the user is a member of. */
  publisherIds: readonly number[];
  /** The advertisers that the user has an account of. */
  advertiserIds: readonly number[];
  sessionId: string;
  /** When the session was last proved to be the user's: its start, or a sensitive action (epoch milliseconds). */
  confirmedMs: number;
  byProvider: boolean;
  sessionToken: string;
  csrf: string;
};

/** The publisher in the address of a page. */
export type ViewedPublisher = { id: number; name: string; timeZone: string };

/** The advertiser in the address of a page; `publisherId`: who has it in its catalogue. */
export type ViewedAdvertiser = { id: number; name: string; publisherId: number };

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for every request with a valid session. */
    viewer: Viewer | null;
    /** The publisher in the address, if the viewer has access to it. */
    viewedPublisher: ViewedPublisher | null;
    /** The advertiser in the address, if the viewer has an account of it. */
    viewedAdvertiser: ViewedAdvertiser | null;
  }
}

/** What a page is rendered from. */
export type PageContext = {
  request: FastifyRequest;
  reply: FastifyReply;
  viewer: Viewer;
  /** Path below the publisher's pages, or below `/dashboard` on pages without a publisher. */
  path: (rest: string) => string;
};

/** @throws Error on a route without sign-in */
export function viewerOf(request: FastifyRequest): Viewer {
  if (request.viewer === null) throw new Error('the route does not require a session');
  return request.viewer;
}

/** @throws AppError `permission_denied` */
export function requireRole({ user }: Viewer, role: Role): void {
  if (!hasRole(user.role, role)) throw new AppError('permission_denied', { message: t('errors.roleDenied') });
}

export const publisherPath = (publisherId: number, rest = ''): string => `/dashboard/p/${publisherId}${rest}`;

export const advertiserPath = (advertiserId: number, rest = ''): string => `/dashboard/a/${advertiserId}${rest}`;

/** Value of a query parameter, as PostgreSQL takes texts; empty when it is absent or given twice. */
export function queryText({ request }: PageContext, name: string): string {
  const value = (request.query as Record<string, unknown>)[name];
  return typeof value === 'string' ? value.replaceAll('\0', '').toWellFormed() : '';
}

/** Value of a path parameter; empty when it is absent. */
export const pathText = ({ request }: PageContext, name: string): string =>
  (request.params as Record<string, string | undefined>)[name] ?? '';

/**
 * Key of the row in the address.
 * @throws AppError `not_found`
 */
export function keyIn(context: PageContext): string {
  const key = pathText(context, 'key');
  if (key === '') throw new AppError('not_found');
  return key;
}

/** The submitted form; empty when the request has none. Passwords are read from it untrimmed. */
export const formOf = ({ body }: FastifyRequest): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams();

/** Name of the form field with the CSRF token of the session; requests of scripts send `csrfHeader` instead. */
export const csrfFieldName = '_csrf';
export const csrfHeader = 'x-csrf-token';

/**
 * Forms with lists of rows, whose fields are named `{list}.{index}.…`: "Add" and "Remove" submit the form under this
 * name; the answer is the form as it was typed, with a row more or less, and nothing is saved.
 */
export const rowsField = '_rows';

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

const whole = ({ message }: AppError): FieldErrors[number] => ({ path: '/', message });

/** Whether the details of an error are the first rows of a file, which say nothing without its message. */
const showsRows = ({ code, details = [] }: AppError): boolean =>
  code === 'ambiguous_header' || (code === 'unknown_header' && details[0]?.path.startsWith('/lines/') === true);

/** The validation errors of a refused change, in the language of the reader; rethrows every other error. */
export function fieldErrorsOf(err: unknown): FieldErrors {
  if (err instanceof AppError && err.status < 500 && err.status !== 403 && err.status !== 404)
    return (showsRows(err) ? [whole(err)] : (err.details ?? [whole(err)])).map(({ path, message }) => ({
      path,
      message: apiText(message),
    }));
  throw err;
}
