/** Browsers of any origin call the public routes (docs/reference/fetch-offers.md#request). */
export const corsOptions = {
  origin: '*',
  methods: ['GET', 'POST', 'PUT', 'OPTIONS'],
  allowedHeaders: ['content-type', 'authorization', 'x-sdk-id', 'accept'],
  credentials: false,
  maxAge: 86_400,
  strictPreflight: false, // an OPTIONS that no browser sent asks the same
};
