import { simulateOddNodes } from '../testing/odd-node-seeds.ts';

simulateOddNodes('odd-nodes.one', 1);
