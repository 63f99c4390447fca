import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import type { Config } from '../../src/config.ts';

type ReceivedMail = { from: string; to: string[]; head: string; text: string };

export type MailServer = {
  /** Configuration of a service that sends its e-mails to this server. */
  mail: NonNullable<Config['mail']>;
  mails: ReceivedMail[];
  /** Rejects recipients with 550 from now on, or accepts them again. */
  refuse: (refused: boolean) => void;
  close: () => Promise<void>;
};

/** Starts a real SMTP server on a free local port, without TLS. Clients must sign in with `user` and `secret`. */
export async function startMailServer(): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  let refused = false;
  const server = new SMTPServer({
    authMethods: ['PLAIN', 'LOGIN'],
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    logger: false,
    onAuth: ({ username, password }, _session, done) =>
      username === 'user' && password === 'secret' ? done(null, { user: username }) : done(new Error('refused')),
    onRcptTo: (_address, _session, done) =>
      refused ? done(Object.assign(new Error('no such mailbox'), { responseCode: 550 })) : done(),
    onData: (stream, { envelope }, done) => {
      text(stream).then((raw) => {
        const [head = '', ...body] = raw.split('\r\n\r\n');
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address);
        mails.push({ from, to, head, text: decode(head, body.join('\n\n')) });
        done();
      }, done);
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    mail: {
      host: '127.0.0.1',
      port: (server.server.address() as AddressInfo).port,
      secure: false,
      from: 'Perkwire <perkwire@example.com>',
      credentials: { user: 'user', password: 'secret' },
    },
    mails,
    refuse: (value) => {
      refused = value;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Decodes a quoted-printable body. Returns any other body unchanged. */
function decode(head: string, body: string): string {
  if (!/quoted-printable/i.test(head)) return body.replaceAll('\r\n', '\n');
  const joined = body.replaceAll('\r\n', '\n').replaceAll(/=\n/g, '');
  const latin1 = joined.replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(latin1, 'latin1').toString('utf8');
}
