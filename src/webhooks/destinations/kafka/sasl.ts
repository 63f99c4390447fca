import { createHash, createHmac, pbkdf2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { fail } from '../../dispatcher/send/result.ts';
import { AnswerError } from '../broker.ts';

/** SASL mechanisms for Kafka. */
export const mechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;
type Mechanism = (typeof mechanisms)[number];

export type Login = { mechanism: Mechanism; user: string; password: string };

/** Sends a message of the SASL mechanism to the server and returns the server's response. */
type Exchange = (message: Buffer) => Promise<Buffer>;

/** Error of a login that the client ends, because it does not trust the server's messages. */
class LoginError extends AnswerError {
  constructor(message: string) {
    super(fail('protocol', message));
  }
}

/**
 * Limits for the iteration count that a server may choose. A lower count would make the password easy to guess from the
 * messages, and a higher one would let a server occupy the CPU.
 */
const minIterations = 4096;
const maxIterations = 100_000;

/**
 * Authenticates with a server.
 * @param nonce random string of the client, for SCRAM
 * @throws AnswerError if the server's messages are not those of a server that knows the password
 */
export async function logIn(login: Login, nonce: string, exchange: Exchange): Promise<void> {
  const { mechanism, user, password } = login;
  if (mechanism === 'PLAIN') {
    await exchange(Buffer.from(`\0${user}\0${password}`));
    return;
  }
  const hashName = mechanism === 'SCRAM-SHA-256' ? 'sha256' : 'sha512';
  const clientFirst = `n=${user.replaceAll('=', '=3D').replaceAll(',', '=2C')},r=${nonce}`;
  const serverFirst = (await exchange(Buffer.from(`n,,${clientFirst}`))).toString('utf8');
  const [, serverNonce = '', salt = '', count = ''] = /^r=([^,]+),s=([^,]+),i=(\d{1,9})/.exec(serverFirst) ?? [];
  const iterations = Number(count);
  if (!serverNonce.startsWith(nonce) || serverNonce === nonce)
    throw new LoginError('the server did not answer with a SCRAM message');
  if (iterations < minIterations || iterations > maxIterations)
    throw new LoginError(`the server requests ${iterations} SCRAM iterations instead of 4,096 to 100,000`);

  const digest = (data: Buffer): Buffer => createHash(hashName).update(data).digest();
  const sign = (key: Buffer, text: string): Buffer => createHmac(hashName, key).update(text).digest();
  const length = digest(Buffer.alloc(0)).length;
  const salted = await promisify(pbkdf2)(password, Buffer.from(salt, 'base64'), iterations, length, hashName);
  const withoutProof = `c=biws,r=${serverNonce}`;
  const messages = `${clientFirst},${serverFirst},${withoutProof}`;
  const clientKey = sign(salted, 'Client Key');
  const clientSignature = sign(digest(clientKey), messages);
  const proof = clientKey.map((byte, index) => byte ^ (clientSignature[index] as number));
  const final = await exchange(Buffer.from(`${withoutProof},p=${Buffer.from(proof).toString('base64')}`));

  const signature = Buffer.from(/^v=([^,]+)/.exec(final.toString('utf8'))?.[1] ?? '', 'base64');
  const expected = sign(sign(salted, 'Server Key'), messages);
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected))
    throw new LoginError('the server did not prove that it knows the password');
}
