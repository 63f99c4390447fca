/** A server-sent event. */
export type ServerEvent = { name: string; data: string };

/** A longer event than any delivery ends the stream (characters). */
const maxLength = 4_000_000;

/** The events of a stream, until it ends. `onBytes`: something came, if only a keep-alive. */
export async function* readEvents(
  stream: AsyncIterable<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    onBytes();
    rest += decoder.decode(chunk, { stream: true });
    if (rest.length > maxLength) throw new Error('the service sent an event that is too long');
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = eventOf(block);
      if (event !== null) yield event;
    }
  }
}

function eventOf(block: string): ServerEvent | null {
  const lines = block.split('\n');
  const of = (field: string) =>
    lines.filter((line) => line.startsWith(`${field}: `)).map((line) => line.slice(field.length + 2));
  const [name] = of('event');
  return name === undefined ? null : { name, data: of('data').join('\n') };
}
