/**
 * CORS options that allow browsers to call the public routes from any origin (docs/reference/fetch-offers.md#request).
 */
export const corsOptions = {
  origin: '*',
  methods: ['GET', 'POST', 'PUT', 'OPTIONS'],
  allowedHeaders: ['content-type', 'authorization', 'x-sdk-id', 'accept'],
  credentials: false,
  maxAge: 86_400,
  strictPreflight: false, // OPTIONS requests of other clients get the same response
};
