import { dayMs, minuteMs } from '../../platform/lib/time.ts';
import type { Mail, Mailer } from '../../platform/mailer.ts';
import type { PlatformDeps } from '../../platform/ports.ts';
import { invitationLifetimeMs, linkPath, resetLifetimeMs } from './one-time-links.ts';

type Link = { email: string; token: string; publicUrl: string };

/** The mail with which an invited user sets a password. */
export const invitationMail = ({ email, token, publicUrl }: Link): Mail => ({
  to: email,
  subject: 'Your invitation to Perkwire',
  text: `You are invited to the Perkwire dashboard at ${publicUrl}/dashboard

Set your password here:
${publicUrl}${linkPath}${token}

The link works once, within ${invitationLifetimeMs / dayMs} days. If you did not expect it, ignore this mail.
`,
});

/** The mail with which a user sets a new password. */
export const resetMail = ({ email, token, publicUrl }: Link): Mail => ({
  to: email,
  subject: 'Set a new password for Perkwire',
  text: `Someone asked for a new password of your account at ${publicUrl}/dashboard

Set it here:
${publicUrl}${linkPath}${token}

The link works once, within ${resetLifetimeMs / minuteMs} minutes. If it was not you, ignore this mail:
your password stays as it is.
`,
});

/** Sends a mail and logs a failure, without the address. @returns whether the server took it */
export async function sendMail({ logger }: Pick<PlatformDeps, 'logger'>, mailer: Mailer, mail: Mail): Promise<boolean> {
  try {
    await mailer.send(mail);
    return true;
  } catch (err) {
    const { code, responseCode } = err as { code?: string; responseCode?: number };
    logger.error({ code, responseCode }, 'a mail could not be sent');
    return false;
  }
}
