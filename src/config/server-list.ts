const form = /^(?<scheme>postgres(?:ql)?:\/\/)(?<login>[^/?#]*@)?(?<hosts>[^/?#@]*)(?<rest>.*)$/;

/** SSL modes that libpq supports, plus `no-verify`, which only pg supports. */
const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/**
 * Splits a libpq connection URL with several hosts, such as
 * `postgres://user:password@a:5432,b:5432/database?target_session_attrs=read-write`, into one URL per host.
 * @throws Error with a readable message if the URL is invalid
 */
export function parseServerList(databaseUrl: string): string[] {
  const { scheme, login = '', hosts, rest } = form.exec(databaseUrl)?.groups ?? {};
  if (scheme === undefined || hosts === undefined || rest === undefined)
    throw new Error('DATABASE_URL must begin with postgres:// or postgresql://');
  const mode = new URLSearchParams(rest.split('?').slice(1).join('?')).get('sslmode');
  if (mode !== null && !sslModes.includes(mode))
    throw new Error(`DATABASE_URL must have one of these values of sslmode: ${sslModes.join(', ')}`);
  const urls = hosts.split(',').map((host) => `${scheme}${login}${host}${rest}`);
  // A URL without a host is valid for pg, because a query parameter can specify a socket or another host.
  if (urls.length === 1 && hosts === '') return urls.map(withoutSessionAttrs);
  if (!urls.every((url) => URL.canParse(url)) || hosts.split(',').includes(''))
    throw new Error('DATABASE_URL must look like postgres://user:password@host:5432,host:5432/database');
  return urls.map(withoutSessionAttrs);
}

/** libpq values of `target_session_attrs` that make sense for a program that writes to the database. */
const accepted = ['any', 'read-write', 'primary'];

function withoutSessionAttrs(text: string): string {
  if (!text.includes('target_session_attrs')) return text;
  const url = new URL(text);
  const attributes = url.searchParams.get('target_session_attrs') ?? 'any';
  if (!accepted.includes(attributes))
    throw new Error('DATABASE_URL must have target_session_attrs=read-write, or omit it');
  url.searchParams.delete('target_session_attrs');
  return url.href;
}
