import { answerCalls } from '../primitives/answer-calls.ts';
import { workOnHistory } from './history-work.ts';

/** Runs as a worker: it decrypts, hashes and folds histories while the other thread serves requests. */
answerCalls(workOnHistory);
