import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

/** Handling of the next e-mails by the mail server. */
type Mood = 'takes' | 'takes and hangs up' | 'refuses the address' | 'refuses the sender' | 'is busy';
/** Reply to a command that overrides the mood. */
type Refusal = { at: 'MAIL FROM' | 'RCPT TO' | 'DATA'; code: number; text: string };
export type Received = { to: string; raw: string; messageId: string };

/** Starts a mail server that counts the emails it receives. */
export async function openMailServer() {
  const server = { mood: 'takes' as Mood, received: [] as Received[], refusal: null as Refusal | null };
  const refusals: { [Name in Mood]?: [number, string] } = {
    'refuses the address': [550, '5.1.1 no such mailbox'],
    'refuses the sender': [550, '5.7.1 you may not relay'],
    'is busy': [451, '4.3.2 later'],
  };
  const refusedAt = (command: Refusal['at']): Error | null => {
    if (server.refusal?.at !== command) return null;
    const { code: responseCode, text: message } = server.refusal;
    return Object.assign(new Error(message), { responseCode });
  };
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onMailFrom: (_address, _session, done) => done(refusedAt('MAIL FROM')),
    onRcptTo: (_address, _session, done) => {
      const refused = refusedAt('RCPT TO');
      if (refused !== null) return done(refused);
      const [responseCode, message] = refusals[server.mood] ?? [0, ''];
      done(responseCode === 0 ? null : Object.assign(new Error(message), { responseCode }));
    },
    onData: (stream, session, done) => {
      text(stream).then((raw) => {
        const refused = refusedAt('DATA');
        if (refused !== null) return done(refused);
        const messageId = /^message-id: (.*)\r$/im.exec(raw)?.[1] ?? '';
        server.received.push({ to: session.envelope.rcptTo.map(({ address }) => address).join(), raw, messageId });
        // The server has the email, but the sender never learns about it.
        if (server.mood === 'takes and hangs up') done(Object.assign(new Error('gone'), { responseCode: 421 }));
        else done();
      }, done);
    },
  });
  // A sender that is killed resets its connection.
  smtp.on('error', () => {});
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', resolve));
  const { port } = smtp.server.address() as AddressInfo;
  return Object.assign(server, {
    mail: { host: '127.0.0.1', port, secure: false, credentials: null, from: 'Perks <perks@example.com>' },
    close: () => new Promise<void>((resolve) => smtp.close(() => resolve())),
  });
}
