import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

type Terminal = { input: NodeJS.ReadableStream; output: NodeJS.WritableStream };

/**
 * Asks for a password twice, without showing it.
 * @returns null: none was given, make one
 * @throws Error when the two differ, or the input ends
 */
export async function askPassword({ input, output }: Terminal): Promise<string | null> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal: true });
  const answers = lines[Symbol.asyncIterator]();

  async function ask(question: string): Promise<string> {
    output.write(question);
    const answer = await answers.next();
    output.write('\n');
    if (answer.done) throw new Error('Nothing was changed.');
    return answer.value;
  }

  try {
    const password = await ask('Password (empty: one is made for you): ');
    if (password === '') return null;
    if ((await ask('The same once more: ')) !== password)
      throw new Error('The two are not the same. Nothing was changed.');
    return password;
  } finally {
    lines.close();
  }
}
