import type { Writable } from 'node:stream';

/** Output of a command: either text for people, or JSON with one value per line. */
export type Output = {
  isJson: boolean;
  /** Writes a line of text. Ignored with --json. */
  line: (text: string) => void;
  /** Writes a value as JSON. Ignored without --json. */
  data: (value: unknown) => void;
  /** Writes a line to standard error, with or without --json. */
  note: (text: string) => void;
  /**
   * Shows a progress line on standard error, which the next one overwrites. An empty string clears it. Ignored if
   * standard error is not a terminal.
   */
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

/**
 * Characters that control a terminal or change the text direction. They are replaced or escaped in the output, because
 * payloads and responses contain text from third parties.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

const printable = (text: string): string => text.replace(steering, '�');

/** Serialises a value as JSON. Characters that control a terminal or change the text direction are escaped. */
export const jsonText = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).replace(
    steering,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
