import { credentialsOf } from './credentials.ts';

/** How mails are sent. */
export type MailSetting = {
  host: string;
  port: number;
  /** TLS from the first byte; else STARTTLS, where the server offers it. */
  secure: boolean;
  /** null: the server asks for none. */
  credentials: { user: string; password: string } | null;
  /** Sender, such as `Perkwire <perkwire@example.com>`. */
  from: string;
};

/**
 * Reads SMTP_URL (`smtp://user:password@host:587`, or `smtps:`) and MAIL_FROM. null: no mails are sent.
 * @param problems gets what is wrong
 */
export function parseMail({ url, from }: { url: string; from: string }, problems: string[]): MailSetting | null {
  if (url === '') return null;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const credentials = parsed === null ? null : credentialsOf(parsed);
  if (parsed === null || !/^smtps?:$/.test(parsed.protocol) || parsed.hostname === '') {
    problems.push('SMTP_URL must look like smtp://user:password@host:587 or smtps://user:password@host:465');
    return null;
  }
  if (credentials === null) problems.push('SMTP_URL has a user or password that is not percent-encoded');
  if (!/^[^\r\n@]*[^\s@<]+@[^\s@>]+>?$/.test(from))
    problems.push('MAIL_FROM must be set where SMTP_URL is: the sender, such as Perkwire <perkwire@example.com>');
  const secure = parsed.protocol === 'smtps:';
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: parsed.port === '' ? (secure ? 465 : 587) : Number(parsed.port),
    secure,
    credentials: credentials?.user === '' ? null : credentials,
    from,
  };
}
