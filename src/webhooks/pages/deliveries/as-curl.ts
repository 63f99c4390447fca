/** Request as the attempt log shows it: values of the endpoint's own headers are hidden. */
type LoggedRequest = { method: string; url: string; headers: Readonly<Record<string, string>> };

/** In single quotes nothing is special to a POSIX shell but the quote itself. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A command that makes the request again, byte for byte. `payload` null: it was erased. */
export function asCurl({ method, url, headers }: LoggedRequest, payload: string | null): string {
  const isPost = method === 'POST';
  return [
    `curl ${isPost ? '-X POST ' : ''}${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(isPost && payload !== null ? [`--data-raw ${quoted(payload)}`] : []),
  ].join(' \\\n  ');
}
