import { simulateOddNodes } from '../testing/odd-node-seeds.ts';

simulateOddNodes('odd-nodes.two', 2);
