import cookiePlugin, { type CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, type ErrorDetail } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import type { ReaderLanguage } from '../platform/i18n/languages.ts';
import { browserTexts, t } from '../platform/i18n/messages.ts';
import { asReader, keepReaders, type Reader, readerOf } from '../platform/i18n/reader.ts';
import { dayMs, minuteMs } from '../platform/lib/time.ts';
import { Problem, wordProblem } from '../platform/problem.ts';
import { isToken } from '../platform/security/random-token.ts';

/**
 * Standard roles, lowest privilege first:
 * - `advertiser`: limited to one advertiser. Sees its campaigns and proposes changes to them. Cannot open publisher
 *   pages.
 * - `analyst`: limited to one publisher. Read-only access.
 * - `manager`: limited to one publisher. Manages offers, campaigns and deliveries.
 * - `admin`: limited to one publisher. Manages settings, keys, endpoints and users.
 * - `operator`: belongs to no publisher and has access to all publishers.
 */
const roles = ['advertiser', 'analyst', 'manager', 'admin', 'operator'] as const;
export type Role = (typeof roles)[number];

export const isRole = (name: string): name is Role => (roles as readonly string[]).includes(name);

/** Custom role, for which a publisher has selected individual permissions. */
export type CustomRole = { id: number; name: string; permissions: readonly string[] };
export type MemberRole = Role | CustomRole;

/**
 * Permission that a custom role needs to open the pages for a standard role. Null means that the pages require no
 * permission.
 */
const pagePermissions: Readonly<Record<Exclude<Role, 'operator'>, string | null>> = {
  advertiser: null,
  analyst: null,
  manager: 'offers/management',
  admin: 'configurations',
};

/**
 * Whether a role includes the required role. Each standard role includes all lower roles. A custom role includes a
 * standard role if it has the permission to open that role's pages.
 */
export function hasRole(role: MemberRole, required: Role): boolean {
  if (typeof role === 'string') return roles.indexOf(role) >= roles.indexOf(required);
  if (required === 'operator') return false;
  const permission = pagePermissions[required];
  return permission === null || role.permissions.includes(permission);
}

/** Dashboard user, as a member of one publisher. */
export type User = {
  id: number;
  email: string;
  membershipId: number;
  role: MemberRole;
  /** Publisher that the user is a member of. Null for operators and advertiser accounts. */
  publisherId: number | null;
  /** Advertiser to which an advertiser account belongs, or null for all other users. */
  advertiserId: number | null;
  /** Whether the user has accepted the invitation. */
  hasJoined: boolean;
  hasPassword: boolean;
  /** Whether the user has set up an authenticator app or a passkey. */
  hasTwoFactor: boolean;
  hasAuthenticatorApp: boolean;
  /** Whether the user signs in through the OpenID provider instead of with a password. */
  isLinked: boolean;
  /** Whether the membership is disabled. */
  disabled: boolean;
  /** Preferred language of the user, or null to use the browser language. */
  language: ReaderLanguage | null;
  createdAt: Date;
};

/** Signed-in user and their session. */
export type Viewer = {
  /**
   * User as a member of the publisher in the URL, or of the publisher that they opened last if the URL contains none.
   */
  user: User;
  /** IDs of the publishers that the user is a member of. */
  publisherIds: readonly number[];
  /** IDs of the advertisers for which the user has an account. */
  advertiserIds: readonly number[];
  sessionId: string;
  /**
   * Time when the user last confirmed their identity, in epoch milliseconds. Users confirm it by signing in, or again
   * before a sensitive action.
   */
  confirmedMs: number;
  byProvider: boolean;
  sessionToken: string;
  csrf: string;
};

/** Publisher in the page URL. */
export type ViewedPublisher = { id: number; name: string; timeZone: string };

/** Advertiser in the page URL. `publisherId` is the publisher to whose catalogue the advertiser belongs. */
export type ViewedAdvertiser = { id: number; name: string; publisherId: number };

/** Pages that a portal can show, and actions that its user can take. */
export type PortalPermission = 'deliveries' | 'deliveries/resend' | 'endpoints' | 'endpoints/edit' | 'live';

/** Colours and logo of a portal. */
export type PortalTheme = { accent_color?: string; accent_color_dark?: string; logo_url?: string };

/**
 * Portal that shows pages of one publisher in a frame of another website. Its pages have the paths
 * `/portal/{id}/…` and no navigation to the rest of the dashboard.
 */
export type Portal = {
  id: string;
  publisherId: number;
  permissions: readonly PortalPermission[];
  theme: PortalTheme;
  language: ReaderLanguage | null;
  /** Origin of the website that may embed the portal. */
  frameOrigin: string;
  /** API key that created the link. */
  keyId: number;
  /** Name of the portal's user in the audit log. */
  userLabel: string;
};

export const portalPath = (id: string, rest = ''): string => `/portal/${id}${rest}`;

declare module 'fastify' {
  interface FastifyRequest {
    /** Portal that the request belongs to, or null for the dashboard. */
    portal: Portal | null;
    /** Signed-in user, or null if the request has no valid session. */
    viewer: Viewer | null;
    /** Publisher in the URL, or null if none exists or the viewer has no access to it. */
    viewedPublisher: ViewedPublisher | null;
    /** Advertiser in the URL, or null if none exists or the viewer has no account for it. */
    viewedAdvertiser: ViewedAdvertiser | null;
    /**
     * Publisher whose navigation is shown: the publisher in the URL. On pages without a publisher, it is the one that
     * the viewer opened last. Use `viewedPublisher` to check access.
     */
    openPublisher: ViewedPublisher | null;
    /** Advertiser whose navigation is shown, determined in the same way. */
    openAdvertiser: ViewedAdvertiser | null;
  }
}

/** Context for rendering a page. */
export type PageContext = {
  request: FastifyRequest;
  reply: FastifyReply;
  viewer: Viewer;
  /** Builds a path within the publisher's pages, or below `/dashboard` on pages without a publisher. */
  path: (rest: string) => string;
};

/**
 * Returns the viewer of a request.
 * @throws Error if the route does not require a session
 */
export function viewerOf(request: FastifyRequest): Viewer {
  if (request.viewer === null) throw new Error('the route does not require a session');
  return request.viewer;
}

/**
 * Requires the viewer to have a role.
 * @throws AppError `permission_denied`
 */
export function requireRole({ user }: Viewer, role: Role): void {
  if (!hasRole(user.role, role)) throw new AppError('permission_denied', { message: new Problem('errors.roleDenied') });
}

export const publisherPath = (publisherId: number, rest = ''): string => `/dashboard/p/${publisherId}${rest}`;

export const advertiserPath = (advertiserId: number, rest = ''): string => `/dashboard/a/${advertiserId}${rest}`;

/** Parses an ID. Returns 0 if the text is not an ID. */
export const idIn = (text: string): number => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0);

/** Returns a query parameter without NUL characters, or an empty string if it is absent or repeated. */
export function queryText({ request }: PageContext, name: string): string {
  const value = (request.query as Record<string, unknown>)[name];
  return typeof value === 'string' ? value.replaceAll('\0', '').toWellFormed() : '';
}

/** Returns a path parameter, or an empty string if it is absent. */
export const pathText = ({ request }: PageContext, name: string): string =>
  (request.params as Record<string, string | undefined>)[name] ?? '';

/**
 * Returns the key from the URL that identifies a row.
 * @throws AppError `not_found`
 */
export function keyIn(context: PageContext): string {
  const key = pathText(context, 'key');
  if (key === '') throw new AppError('not_found');
  return key;
}

/**
 * Returns the submitted form, or an empty form if the request has no form body. Values are not trimmed, because they
 * may be passwords.
 */
export const formOf = ({ body }: FastifyRequest): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams();

/**
 * Name of the form field with the session's CSRF token. Requests sent by scripts use the header `csrfHeader` instead.
 */
export const csrfFieldName = '_csrf';
export const csrfHeader = 'x-csrf-token';

/**
 * Name of the "Add" and "Remove" buttons of row lists, whose fields are named `{list}.{index}.…`. The response renders
 * the submitted form with a row added or removed. Nothing is saved.
 */
export const rowsField = '_rows';

/** Name of the hidden field with the random token of a form that creates something. */
export const onceFieldName = '_once';

/**
 * Runs a form's action, or returns its first result if the form was submitted before. `isDone` tells whether a result
 * is stored: a rejected form can be submitted again.
 */
export type SubmitOnce = <T>(
  request: FastifyRequest,
  act: () => Promise<T>,
  isDone: (result: T) => boolean,
) => Promise<T>;

/** Form field value: text, a number, the state of a checkbox, or a list of strings. */
export type FormValue = string | number | boolean | null | undefined | readonly string[];
export type FormValues = Readonly<Record<string, FormValue>>;

/**
 * Accessors for form values, which read stored and submitted values in the same way. Unchecked checkboxes are absent
 * from the values.
 */
export type Fields = {
  values: FormValues;
  /** Returns the first value, trimmed and with line breaks normalised to `\n`, or an empty string. */
  text: (name: string) => string;
  all: (name: string) => string[];
  /** Whether a checkbox is checked. */
  checked: (name: string) => boolean;
  /**
   * Returns the entered number, or null if the field is empty. Any other text is returned unchanged, so that validation
   * rejects it.
   */
  number: (name: string) => number | string | null;
  /** Returns the number of rows in a list whose fields are named `{list}.{index}.…`. */
  rowCount: (list: string) => number;
};

/** Returns accessors for form values. NUL characters are removed, because text columns cannot store them. */
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

/** Returns the strings that a browser would submit for a value. */
function textsOf(value: FormValue): readonly string[] {
  if (typeof value === 'object' && value !== null) return value;
  if (value === true) return ['on'];
  return value === false || value === null || value === undefined ? [] : [String(value)];
}

/** Returns accessors for the fields of the submitted form. */
export const fieldsIn = (request: FastifyRequest): Fields => fieldsOf(submittedValues(formOf(request)));

export const submittedValues = (params: URLSearchParams): FormValues =>
  Object.fromEntries(
    [...new Set(params.keys())].map((name) => {
      const all = params.getAll(name);
      return [name, all.length === 1 ? all[0] : all];
    }),
  );

/** Returns the number of rows in a list whose fields are named `{list}.{index}.…`. */
export function rowCountIn(values: FormValues, list: string): number {
  let count = 0;
  for (const name of Object.keys(values)) {
    const index = name.startsWith(`${list}.`) ? /^\d{1,3}(?=\.)/.exec(name.slice(list.length + 1))?.[0] : undefined;
    if (index !== undefined) count = Math.max(count, Number(index) + 1);
  }
  return count;
}

/** Validation errors by field. Paths are JSON pointers: `/rules/country` refers to the field `rules.country`. */
export type FieldErrors = readonly { path: string; message: string }[];

const whole = ({ problem }: AppError): ErrorDetail => ({ path: '/', message: problem });

/** Whether the error details show the first rows of a file, which are meaningless without the error message. */
const showsRows = ({ code, details = [] }: AppError): boolean =>
  code === 'ambiguous_header' || (code === 'unknown_header' && details[0]?.path.startsWith('/lines/') === true);

/**
 * Returns the validation errors of a rejected change, in the reader's language.
 * @throws any other error unchanged
 */
export function fieldErrorsOf(err: unknown): FieldErrors {
  if (err instanceof AppError && err.status < 500 && err.status !== 403 && err.status !== 404)
    return (showsRows(err) ? [whole(err)] : (err.details ?? [whole(err)])).map(({ path, message }) => ({
      path,
      message: wordProblem(message),
    }));
  throw err;
}

/**
 * Returns the reason why a change was rejected, in the reader's language. If there are several problems, returns the
 * first one.
 * @throws any other error unchanged
 */
export const reasonOf = (err: unknown): string =>
  fieldErrorsOf(err)[0]?.message ?? wordProblem((err as AppError).problem);

/** Time limit for completing a sign-in at the OpenID provider, in milliseconds. */
export const pendingLifetimeMs = 15 * minuteMs;

/** Form that undoes an action, consisting of the target URL and field values. */
export type Undo = { to: string; values?: Readonly<Record<string, string | readonly string[]>> };

/**
 * Message that is shown once, after a redirect. `at` is the ID of the element that it belongs to, if the page shows
 * messages at their elements.
 */
export type Flash = { kind: 'done' | 'failed'; text: string; undo?: Undo; at?: string };

export type Cookies = {
  session: (request: FastifyRequest) => string | null;
  setSession: (reply: FastifyReply, token: string) => void;
  endSession: (reply: FastifyReply) => void;
  /**
   * ID of the publisher that was opened last in this browser, or null. Anyone can set a cookie, so check the viewer's
   * access before use.
   */
  publisher: (request: FastifyRequest) => number | null;
  /** Stores the ID of the opened publisher, if it has changed. */
  setPublisher: (request: FastifyRequest, reply: FastifyReply, publisherId: number) => void;
  setFlash: (reply: FastifyReply, flash: Flash) => void;
  /** Stores the state of a pending OpenID sign-in. */
  setPending: (reply: FastifyReply, value: string) => void;
  /** Returns and deletes the state of a pending OpenID sign-in. */
  consumePending: (request: FastifyRequest, reply: FastifyReply) => string | null;
  /** Returns and deletes the message set by the previous request. */
  consumeFlash: (request: FastifyRequest, reply: FastifyReply) => Flash | null;
};

const flashLifetimeS = 30;
const publisherLifetimeS = (180 * dayMs) / 1000;
const pendingLifetimeS = pendingLifetimeMs / 1000;
const maxFlashLength = 300;
/**
 * Maximum JSON size of an undo form, in bytes. A cookie can hold 4 KB. If an undo form is larger, the message has no
 * undo button.
 */
const maxUndoBytes = 2000;

/**
 * Registers the dashboard cookies. With https, their names start with `__Host-`, so that no other host of the domain
 * can set them.
 * @param sessionLifetimeMs lifetime of the session cookie in the browser, in milliseconds
 */
export async function registerCookies(app: App, publicUrl: string, sessionLifetimeMs: number): Promise<Cookies> {
  await app.register(cookiePlugin);
  const secure = publicUrl.startsWith('https:');
  const prefix = secure ? '__Host-' : '';
  const sessionName = `${prefix}perkwire_session`;
  const flashName = `${prefix}perkwire_flash`;
  const pendingName = `${prefix}perkwire_oidc`;
  const publisherName = `${prefix}perkwire_publisher`;
  const attributes: CookieSerializeOptions = { path: '/', httpOnly: true, sameSite: 'lax', secure };
  return {
    session: ({ cookies }) => {
      const value = cookies[sessionName] ?? '';
      return isToken(value) ? value : null;
    },
    setSession: (reply, token) =>
      reply.setCookie(sessionName, token, { ...attributes, maxAge: sessionLifetimeMs / 1000 }),
    endSession: (reply) => reply.clearCookie(sessionName, attributes),
    publisher: ({ cookies }) => idIn(cookies[publisherName] ?? '') || null,
    setPublisher: ({ cookies }, reply, publisherId) => {
      if (cookies[publisherName] !== String(publisherId))
        reply.setCookie(publisherName, String(publisherId), { ...attributes, maxAge: publisherLifetimeS });
    },
    setPending: (reply, value) => reply.setCookie(pendingName, value, { ...attributes, maxAge: pendingLifetimeS }),
    consumePending: ({ cookies }, reply) => {
      reply.clearCookie(pendingName, attributes);
      return cookies[pendingName] ?? null;
    },
    ...flashCookie(flashName, attributes),
  };
}

/** Returns the functions that store and read the flash message in a cookie. */
export const flashCookie = (
  flashName: string,
  attributes: CookieSerializeOptions,
): { setFlash: Cookies['setFlash']; consumeFlash: Cookies['consumeFlash'] } => ({
  setFlash: (reply, { kind, text, undo, at = '' }) => {
    const fields = undo === undefined ? '' : JSON.stringify(undo);
    const parts = [text.slice(0, maxFlashLength), Buffer.byteLength(fields) > maxUndoBytes ? '' : fields];
    const value = [kind, ...parts.map((part) => Buffer.from(part).toString('base64url')), at].join('.');
    reply.setCookie(flashName, value, { ...attributes, maxAge: flashLifetimeS });
  },
  consumeFlash: ({ cookies }, reply) => {
    const match = /^(done|failed)\.([\w-]*)\.([\w-]*)(?:\.([\w-]*))?$/.exec(cookies[flashName] ?? '');
    if (match === null) return null;
    reply.clearCookie(flashName, attributes);
    const [text = '', fields = ''] = match.slice(2, 4).map((part) => Buffer.from(part, 'base64url').toString('utf8'));
    const undo = undoOf(fields);
    return { kind: match[1] as Flash['kind'], text, at: match[4] ?? '', ...(undo !== null && { undo }) };
  },
});

/**
 * Parses an undo form. Returns null if the form's path is outside the dashboard, so that a forged cookie cannot make
 * the user submit a form elsewhere.
 */
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
    /** Reader whose language and locale apply to the response. */
    reader: Reader;
    /**
     * Ends the reader context for work that the request started. It also ends automatically when the response closes.
     */
    endReader: () => void;
  }
}

const acceptedBy = ({ headers }: FastifyRequest, { language }: { language: ReaderLanguage | null }): Reader =>
  readerOf(headers['accept-language'], language);

/**
 * Sets the reader whose language is used for messages, dates and numbers on all pages. The first hook runs before all
 * others, so that their errors are translated, too. The second hook sets the reader again after the body was read,
 * because body events start outside the request's asynchronous context.
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

/** Applies the user's preferred language, which takes precedence over the browser language. */
export function useLanguageOf(request: FastifyRequest, user: { language: ReaderLanguage | null }): void {
  Object.assign(request.reader, acceptedBy(request, user));
}

export const roleName = (role: MemberRole): string => (typeof role === 'string' ? t(`roles.${role}`) : role.name);

/** Returns the messages for our own scripts (`message` in dashboard.js), as JSON. */
export const browserMessages = (): string => JSON.stringify(browserTexts());
