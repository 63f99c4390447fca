/** Time to wait for a response, in milliseconds. */
const timeoutMs = 1000;

/** Whether a Perkwire process responds at a URL of this machine. Never rejects. */
export async function isPerkwireAt(url: string): Promise<boolean> {
  try {
    const response = await fetch(new URL('/health/ready', url), { signal: AbortSignal.timeout(timeoutMs) });
    const body: unknown = await response.json();
    return typeof body === 'object' && body !== null && 'catalog_version' in body;
  } catch {
    return false;
  }
}
