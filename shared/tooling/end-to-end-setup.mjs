import { jest } from '@jest/globals';

// A whole system starts, fills, crashes and starts again within one test.
jest.setTimeout(240_000);
