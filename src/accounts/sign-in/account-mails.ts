import type { ReaderLanguage } from '../../platform/i18n/languages.ts';
import { t } from '../../platform/i18n/messages.ts';
import { inLanguage, reader } from '../../platform/i18n/reader.ts';
import { dayMs, minuteMs } from '../../platform/lib/time.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Mail, Mailer } from '../../platform/mailer.ts';
import { invitationLifetimeMs, linkPath, resetLifetimeMs } from './one-time-links.ts';

type Link = { email: string; token: string; publicUrl: string };

const linkIn = ({ token, publicUrl }: Link) => ({
  dashboard: `${publicUrl}/dashboard`,
  link: `${publicUrl}${linkPath}${token}`,
});

/** Returns the e-mail with the link for accepting an invitation, in the inviting user's language. */
export const invitationMail = (link: Link): Mail => ({
  to: link.email,
  subject: t('mails.invitation'),
  text: t('mails.invitationText', { ...linkIn(link), days: invitationLifetimeMs / dayMs }),
});

/**
 * Returns the e-mail with the password reset link. It is written in the user's language, or in the reader's language if
 * `language` is null.
 */
export const resetMail = (link: Link, language: ReaderLanguage | null): Mail =>
  inLanguage(language ?? reader().language, () => ({
    to: link.email,
    subject: t('mails.reset'),
    text: t('mails.resetText', { ...linkIn(link), minutes: resetLifetimeMs / minuteMs }),
  }));

/**
 * Sends an e-mail. Failures are logged without the recipient's address.
 * @returns whether the mail server accepted the e-mail
 */
export async function sendMail({ logger }: { logger: Logger }, mailer: Mailer, mail: Mail): Promise<boolean> {
  try {
    await mailer.send(mail);
    return true;
  } catch (err) {
    const { code, responseCode } = err as { code?: string; responseCode?: number };
    logger.error({ code, responseCode }, 'sending mail failed');
    return false;
  }
}
