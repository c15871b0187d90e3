import { z } from 'zod';

/** The parameter of a query that can be answered as of an earlier position. Its answer carries `x-as-of`. */
export const asOf = z
  .string()
  .max(128)
  .optional()
  .describe(
    'answers what the same query answered then: an ISO 8601 date or time (a date is its beginning, UTC), a position or an x-position',
  );
