import { DispatchPlan } from '../src/dispatch-plan.js';
const T=(c:number)=>5+0.1*c;
const r=0.4*2*64/T(64);
const p=new DispatchPlan({slots:2,maxBatchSize:64,ratePerMs:r,durationMs:T,sizes:[1,2,4,8,16,32],steps:[]} as any);
p.work(1e8);
console.log(r,p.isUseful);
for(const res of [0,1,3,5,8,11]) console.log(res, Array.from({length:64},(_,i)=>p.sizeFor(i+1,res)).join(' '));
