import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

type Terminal = { input: NodeJS.ReadableStream; output: NodeJS.WritableStream };

/**
 * Asks for a password twice, without showing it.
 * @returns null: left empty, to generate one
 * @throws Error when the passwords differ or the input ends
 */
export async function askPassword({ input, output }: Terminal): Promise<string | null> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal: true });
  const answers = lines[Symbol.asyncIterator]();

  async function ask(question: string): Promise<string> {
    output.write(question);
    const answer = await answers.next();
    output.write('\n');
    if (answer.done) throw new Error('No changes made.');
    return answer.value;
  }

  try {
    const password = await ask('Password (leave empty to generate one): ');
    if (password === '') return null;
    if ((await ask('Repeat password: ')) !== password) throw new Error('Passwords do not match. No changes made.');
    return password;
  } finally {
    lines.close();
  }
}
