import { jest } from '@jest/globals';

// One test may start a whole system, fill it with events, kill it and start it again.
jest.setTimeout(240_000);
