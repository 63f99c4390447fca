/**
 * Returns the content security policy for the demo pages. They may load their own files and call the service at its
 * public URL. Images and beacons may be on advertisers' servers. Only the demo's own pages may show the demo pages in a
 * frame.
 */
export const policy = (
  publicUrl: string,
  { scripts = [], styles = [] }: { scripts?: string[]; styles?: string[] } = {},
): string =>
  [
    "default-src 'none'",
    ["script-src 'self'", ...scripts].join(' '),
    ["style-src 'self'", ...styles].join(' '),
    `img-src 'self' ${publicUrl} https:`,
    `connect-src 'self' ${publicUrl} https:`,
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join('; ');

/** Returns the HTTP headers for all demo responses. */
export const demoHeaders = (csp: string): Record<string, string> => ({
  'content-security-policy': csp,
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
});
