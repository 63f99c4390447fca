import type { ServerResponse } from 'node:http';

/** Node keeps the head of an answer as text, until it goes out with the first of the body. */
type Headed = ServerResponse & { _header?: string | null };

/**
 * Ends requests with 200 and what is the same for all of them. Node would write the head of each anew, and hand head
 * and
 * body to the system as a list of pieces: a fifth of its work for a small answer. Here head and body are one text,
 * which
 * serves all answers of the second that it names.
 * @param body one byte for each character
 */
export function createFixedAnswer(headers: Record<string, string>, body: string): (response: ServerResponse) => void {
  const list = Object.entries({ ...headers, 'content-length': String(body.length) }).flat();
  let second = 0;
  let text = '';
  return (response: Headed) => {
    const now = Math.floor(Date.now() / 1000);
    if (response.shouldKeepAlive && now === second) response._header = text;
    else {
      response.writeHead(200, list);
      if (typeof response._header !== 'string') return void response.end(body, 'latin1');
      response._header += body;
      if (response.shouldKeepAlive) [second, text] = [now, response._header];
    }
    response.end();
  };
}
