import { answerCalls } from '../primitives/threads/answer-calls.ts';
import { workOnHistory } from './history-work.ts';

/** Runs as a worker: decrypts and hashes histories while the main thread serves requests. */
answerCalls(workOnHistory);
