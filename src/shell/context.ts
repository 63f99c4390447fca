import cookiePlugin, { type CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, type ErrorDetail } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import type { ReaderLanguage } from '../platform/i18n/languages.ts';
import { browserTexts, t } from '../platform/i18n/messages.ts';
import { asReader, keepReaders, type Reader, readerOf } from '../platform/i18n/reader.ts';
import { minuteMs } from '../platform/lib/time.ts';
import { Problem, wordProblem } from '../platform/problem.ts';
import { isToken } from '../platform/security/random-token.ts';

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

/** Role of a publisher, made of permissions. */
export type CustomRole = { id: number; name: string; permissions: readonly string[] };
export type MemberRole = Role | CustomRole;

/** Permissions that a publisher's own role needs for the pages of a standard role; null if none is sufficient. */
const pagePermissions: Readonly<Record<Exclude<Role, 'operator'>, string | null>> = {
  advertiser: null,
  analyst: null,
  manager: 'offers/management',
  admin: 'configurations',
};

/**
 * Whether a role includes another one. Each standard role includes the ones before it; a publisher's own role includes
 * those that its permissions cover.
 */
export function hasRole(role: MemberRole, required: Role): boolean {
  if (typeof role === 'string') return roles.indexOf(role) >= roles.indexOf(required);
  if (required === 'operator') return false;
  const permission = pagePermissions[required];
  return permission === null || role.permissions.includes(permission);
}

/** A person with a sign-in, as a member of one publisher. */
export type User = {
  id: number;
  email: string;
  membershipId: number;
  role: MemberRole;
  /** Publisher of the member; null for operators and advertisers' accounts. */
  publisherId: number | null;
  /** Advertiser of the user, if it is an account of an advertiser; null for all others. */
  advertiserId: number | null;
  /** Whether the invitation was accepted. */
  hasJoined: boolean;
  hasPassword: boolean;
  /** Whether the user has an authenticator app or a passkey. */
  hasTwoFactor: boolean;
  hasAuthenticatorApp: boolean;
  /** Whether the user signs in at the OpenID provider, without a password. */
  isLinked: boolean;
  /** Whether the membership is disabled. */
  disabled: boolean;
  /** Language of the user; null uses the browser's. */
  language: ReaderLanguage | null;
  createdAt: Date;
};

/** The signed-in user with their session. */
export type Viewer = {
  /** User as a member of the publisher in the URL, or else of the one that was opened last. */
  user: User;
  /** Publishers that the user is a member of. */
  publisherIds: readonly number[];
  /** Advertisers that the user has an account of. */
  advertiserIds: readonly number[];
  sessionId: string;
  /**
   * Time of the last confirmation of the user's identity: the start of the session, or a sensitive action (epoch
   * milliseconds).
   */
  confirmedMs: number;
  byProvider: boolean;
  sessionToken: string;
  csrf: string;
};

/** Publisher in the URL of a page. */
export type ViewedPublisher = { id: number; name: string; timeZone: string };

/** Advertiser in the URL of a page. `publisherId` is the publisher of its catalogue. */
export type ViewedAdvertiser = { id: number; name: string; publisherId: number };

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for every request with a valid session. */
    viewer: Viewer | null;
    /** Publisher in the URL, if the viewer has access to it. */
    viewedPublisher: ViewedPublisher | null;
    /** Advertiser in the URL, if the viewer has an account of it. */
    viewedAdvertiser: ViewedAdvertiser | null;
  }
}

/** Context that a page is rendered from. */
export type PageContext = {
  request: FastifyRequest;
  reply: FastifyReply;
  viewer: Viewer;
  /** Path below the publisher's pages, or below `/dashboard` on pages without a publisher. */
  path: (rest: string) => string;
};

/**
 * Viewer of a request.
 * @throws Error on a route without sign-in
 */
export function viewerOf(request: FastifyRequest): Viewer {
  if (request.viewer === null) throw new Error('the route does not require a session');
  return request.viewer;
}

/**
 * Requires a role.
 * @throws AppError `permission_denied`
 */
export function requireRole({ user }: Viewer, role: Role): void {
  if (!hasRole(user.role, role)) throw new AppError('permission_denied', { message: new Problem('errors.roleDenied') });
}

export const publisherPath = (publisherId: number, rest = ''): string => `/dashboard/p/${publisherId}${rest}`;

export const advertiserPath = (advertiserId: number, rest = ''): string => `/dashboard/a/${advertiserId}${rest}`;

/** Value of a query parameter without NUL; empty if it is absent or repeated. */
export function queryText({ request }: PageContext, name: string): string {
  const value = (request.query as Record<string, unknown>)[name];
  return typeof value === 'string' ? value.replaceAll('\0', '').toWellFormed() : '';
}

/** Value of a path parameter; empty if it is absent. */
export const pathText = ({ request }: PageContext, name: string): string =>
  (request.params as Record<string, string | undefined>)[name] ?? '';

/**
 * Key of the row in the URL.
 * @throws AppError `not_found`
 */
export function keyIn(context: PageContext): string {
  const key = pathText(context, 'key');
  if (key === '') throw new AppError('not_found');
  return key;
}

/** The submitted form; empty for a request without one. Passwords are read from it untrimmed. */
export const formOf = ({ body }: FastifyRequest): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams();

/** Name of the form field with the CSRF token of the session. Requests of scripts send `csrfHeader` instead. */
export const csrfFieldName = '_csrf';
export const csrfHeader = 'x-csrf-token';

/**
 * Name of the buttons "Add" and "Remove" in lists of rows, whose fields are named `{list}.{index}.…`. The response is
 * the submitted form with a row more or less, and nothing is saved.
 */
export const rowsField = '_rows';

/** Value that a form shows or submits: a text, a number, whether a box is checked, or several texts. */
export type FormValue = string | number | boolean | null | undefined | readonly string[];
export type FormValues = Readonly<Record<string, FormValue>>;

/** Reads the values of a form. Shown and submitted forms are read alike; unchecked boxes are absent. */
export type Fields = {
  values: FormValues;
  /** First value, trimmed, with line feeds as line ends, or an empty string. */
  text: (name: string) => string;
  all: (name: string) => string[];
  /** Whether a box is checked. */
  checked: (name: string) => boolean;
  /** A number, or null if empty. Other text is returned as a text for validation to reject. */
  number: (name: string) => number | string | null;
  /** Number of rows of a list whose fields are named `{list}.{index}.…`. */
  rowCount: (list: string) => number;
};

/** Returns the fields of a form. NUL, which text columns cannot store, is removed. */
export function fieldsOf(values: FormValues): Fields {
  const clean = (text: string): string => text.replaceAll('\0', '').replaceAll('\r\n', '\n').trim();
  const all = (name: string): string[] => textsOf(values[name]).map(clean);
  const text = (name: string): string => all(name)[0] ?? '';
  return {
    values,
    text,
    all,
    rowCount: (list) => rowCountIn(values, list),
    checked: (name) => textsOf(values[name]).length > 0,
    number: (name) => {
      const typed = text(name);
      if (typed === '') return null;
      return /^-?\d{1,15}(\.\d{1,9})?$/.test(typed) ? Number(typed) : typed;
    },
  };
}

/** Texts that a browser submits for a value. */
function textsOf(value: FormValue): readonly string[] {
  if (typeof value === 'object' && value !== null) return value;
  if (value === true) return ['on'];
  return value === false || value === null || value === undefined ? [] : [String(value)];
}

/** Fields of the submitted form. */
export const fieldsIn = (request: FastifyRequest): Fields => fieldsOf(submittedValues(formOf(request)));

export const submittedValues = (params: URLSearchParams): FormValues =>
  Object.fromEntries(
    [...new Set(params.keys())].map((name) => {
      const all = params.getAll(name);
      return [name, all.length === 1 ? all[0] : all];
    }),
  );

/** Number of rows in fields named `{list}.{index}.…`. */
export function rowCountIn(values: FormValues, list: string): number {
  let count = 0;
  for (const name of Object.keys(values)) {
    const index = name.startsWith(`${list}.`) ? /^\d{1,3}(?=\.)/.exec(name.slice(list.length + 1))?.[0] : undefined;
    if (index !== undefined) count = Math.max(count, Number(index) + 1);
  }
  return count;
}

/** Validation errors by field. Paths are JSON pointers: `/rules/country` is an error of the field `rules.country`. */
export type FieldErrors = readonly { path: string; message: string }[];

const whole = ({ problem }: AppError): ErrorDetail => ({ path: '/', message: problem });

/** Whether the details of an error are the first rows of a file, which are meaningless without its message. */
const showsRows = ({ code, details = [] }: AppError): boolean =>
  code === 'ambiguous_header' || (code === 'unknown_header' && details[0]?.path.startsWith('/lines/') === true);

/** Validation errors of a rejected change in the reader's language; rethrows every other error. */
export function fieldErrorsOf(err: unknown): FieldErrors {
  if (err instanceof AppError && err.status < 500 && err.status !== 403 && err.status !== 404)
    return (showsRows(err) ? [whole(err)] : (err.details ?? [whole(err)])).map(({ path, message }) => ({
      path,
      message: wordProblem(message),
    }));
  throw err;
}

/** Reason of a rejected change: its first problem in the reader's language; rethrows every other error. */
export const reasonOf = (err: unknown): string =>
  fieldErrorsOf(err)[0]?.message ?? wordProblem((err as AppError).problem);

/** Timeout of the sign-in at the OpenID provider (milliseconds). */
export const pendingLifetimeMs = 15 * minuteMs;

/** Form that undoes an action: its URL and its fields. */
export type Undo = { to: string; values?: Readonly<Record<string, string | readonly string[]>> };

/** A message shown once after a redirect. */
export type Flash = { kind: 'done' | 'failed'; text: string; undo?: Undo };

export type Cookies = {
  session: (request: FastifyRequest) => string | null;
  setSession: (reply: FastifyReply, token: string) => void;
  endSession: (reply: FastifyReply) => void;
  setFlash: (reply: FastifyReply, flash: Flash) => void;
  /** Stores the state of a sign-in at the OpenID provider. */
  setPending: (reply: FastifyReply, value: string) => void;
  /** Reads and deletes that state. */
  takePending: (request: FastifyRequest, reply: FastifyReply) => string | null;
  /** Reads and deletes the message of the previous request. */
  takeFlash: (request: FastifyRequest, reply: FastifyReply) => Flash | null;
};

const flashLifetimeS = 30;
const pendingLifetimeS = pendingLifetimeMs / 1000;
const maxFlashLength = 300;
/** Maximum size of an undo's fields as JSON (bytes). A cookie can hold 4 KB; larger ones have no undo. */
const maxUndoBytes = 2000;

/**
 * Cookies of the dashboard. With https their names begin with `__Host-`, so that no other host of the domain can set
 * them.
 * @param sessionLifetimeMs how long a browser keeps the cookie of a session (milliseconds)
 */
export async function registerCookies(app: App, publicUrl: string, sessionLifetimeMs: number): Promise<Cookies> {
  await app.register(cookiePlugin);
  const secure = publicUrl.startsWith('https:');
  const prefix = secure ? '__Host-' : '';
  const sessionName = `${prefix}perkwire_session`;
  const flashName = `${prefix}perkwire_flash`;
  const pendingName = `${prefix}perkwire_oidc`;
  const attributes: CookieSerializeOptions = { path: '/', httpOnly: true, sameSite: 'lax', secure };
  return {
    session: ({ cookies }) => {
      const value = cookies[sessionName] ?? '';
      return isToken(value) ? value : null;
    },
    setSession: (reply, token) =>
      reply.setCookie(sessionName, token, { ...attributes, maxAge: sessionLifetimeMs / 1000 }),
    endSession: (reply) => reply.clearCookie(sessionName, attributes),
    setPending: (reply, value) => reply.setCookie(pendingName, value, { ...attributes, maxAge: pendingLifetimeS }),
    takePending: ({ cookies }, reply) => {
      reply.clearCookie(pendingName, attributes);
      return cookies[pendingName] ?? null;
    },
    setFlash: (reply, { kind, text, undo }) => {
      const fields = undo === undefined ? '' : JSON.stringify(undo);
      const parts = [text.slice(0, maxFlashLength), Buffer.byteLength(fields) > maxUndoBytes ? '' : fields];
      const value = [kind, ...parts.map((part) => Buffer.from(part).toString('base64url'))].join('.');
      reply.setCookie(flashName, value, { ...attributes, maxAge: flashLifetimeS });
    },
    takeFlash: ({ cookies }, reply) => {
      const match = /^(done|failed)\.([\w-]*)\.([\w-]*)$/.exec(cookies[flashName] ?? '');
      if (match === null) return null;
      reply.clearCookie(flashName, attributes);
      const [text = '', fields = ''] = match.slice(2).map((part) => Buffer.from(part, 'base64url').toString('utf8'));
      const undo = undoOf(fields);
      return { kind: match[1] as Flash['kind'], text, ...(undo !== null && { undo }) };
    },
  };
}

/** Parses an undo. Its path must be in the dashboard: a forged cookie must not submit forms elsewhere. */
function undoOf(text: string): Undo | null {
  if (text === '') return null;
  try {
    const { to, values } = JSON.parse(text) as Undo;
    return typeof to === 'string' && /^\/dashboard\/(?!.*\.\.)[\w/%.-]*$/.test(to)
      ? { to, values: values ?? {} }
      : null;
  } catch {
    return null;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Reader whose language and locale the response uses. */
    reader: Reader;
    /** Ends the reader for work that the request started, as the end of its response does. */
    endReader: () => void;
  }
}

const acceptedBy = ({ headers }: FastifyRequest, { language }: { language: ReaderLanguage | null }): Reader =>
  readerOf(headers['accept-language'], language);

/**
 * Makes texts, dates and numbers of every page those of the reader. Registered before all other hooks, so that their
 * errors are included, and again after the body was read, because its events begin outside of the request's
 * asynchronous context.
 */
export function registerLanguage(app: App): void {
  app.decorateRequest('reader');
  app.decorateRequest('endReader');
  app.addHook('onRequest', (request, reply, done) => {
    request.reader = acceptedBy(request, { language: null });
    request.endReader = keepReaders();
    reply.raw.once('close', request.endReader);
    reply.header('vary', 'accept-language');
    asReader(request.reader, done);
  });
  app.addHook('preValidation', (request, _reply, done) => asReader(request.reader, done));
}

/** Applies the user's language, which takes precedence over the browser's. */
export function useLanguageOf(request: FastifyRequest, user: { language: ReaderLanguage | null }): void {
  Object.assign(request.reader, acceptedBy(request, user));
}

export const roleName = (role: MemberRole): string => (typeof role === 'string' ? t(`roles.${role}`) : role.name);

/** Texts of our own scripts (`message` in dashboard.js), as JSON. */
export const browserMessages = (): string => JSON.stringify(browserTexts());
