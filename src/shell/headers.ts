/**
 * Headers of every dashboard page. Scripts and styles come from our own files only; images may come from any https
 * host, because creatives do. `same-origin` referrers: the CSRF check needs the origin of forms.
 */
export const pageHeaders = (publicUrl: string, framedBy: "'none'" | "'self'" = "'none'"): Record<string, string> => ({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' ${publicUrl} https: data:`,
    "connect-src 'self'",
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${framedBy}`,
  ].join('; '),
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  ...(framedBy === "'none'" && { 'x-frame-options': 'DENY' }),
  'cross-origin-opener-policy': 'same-origin',
  'x-robots-tag': 'noindex, nofollow',
});
