import type { Writable } from 'node:stream';

/** Output of a command: sentences for people, or JSON, one value per line. */
export type Output = {
  isJson: boolean;
  /** Writes a line only without --json. */
  line: (text: string) => void;
  /** Writes a value only with --json. */
  data: (value: unknown) => void;
  /** Writes to standard error in both modes. */
  note: (text: string) => void;
  /** Shows a line on standard error that is overwritten, only on a terminal. An empty text ends it. */
  progress: (text: string) => void;
};

type Streams = { stdout: Writable; stderr: Writable & { isTTY?: boolean } };

const progressEveryMs = 100;
const progressWidth = 60;

export function createOutput(isJson: boolean, { stdout, stderr }: Streams): Output {
  let shownAtMs = 0;
  return {
    isJson,
    line: (text) => void (isJson || stdout.write(`${printable(text)}\n`)),
    data: (value) => void (isJson && stdout.write(`${jsonText(value)}\n`)),
    note: (text) => void stderr.write(`${printable(text)}\n`),
    progress: (text) => {
      const nowMs = performance.now();
      if (stderr.isTTY !== true || (text !== '' && nowMs - shownAtMs < progressEveryMs)) return;
      shownAtMs = nowMs;
      stderr.write(`\r${printable(text).padEnd(progressWidth)}${text === '' ? '\r' : ''}`);
    },
  };
}

/** Characters that steer a terminal, or turn the order of what it shows; payloads and answers come from others. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

const printable = (text: string): string => text.replace(steering, '�');

/** Value as JSON with these characters escaped. */
export const jsonText = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).replace(
    steering,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
