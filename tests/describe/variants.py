"""Zoo systems with other options, so that every equation of every part is compared."""

from __future__ import annotations

VARIANTS = """
translation encoder.cell={"type":"gru","update":"cho"} attention={"select":"uniform"}
translation encoder.cell=rnn encoder.bidirectional=false decoder.cell=rnn
    attention={"score":"linear","select":"sigmoid"}
translation encoder.cell={"type":"rnn","activation":"identity"} encoder.first=zero
translation encoder={"type":"convolutional","size":6,"embedding":5,"width":5}
    attention={"select":{"type":"local","window":2}}
translation attention={"score":"dot","select":{"type":"local","center":"monotonic","window":1}}
translation attention={"select":"oracle"}
translation attention={"score":"scaled-dot","coverage":0.5,"guide":2} decoder.label_smoothing=0.1
translation attention={"score":"scaled-dot","select":{"type":"sigmoid","normalize":0}}
translation encoder.layers=2 encoder.residual=true encoder.values=embeddings decoder.layers=3
    decoder.residual=true decoder.tie=output
translation encoder.layers=2 encoder.bidirectional=false encoder.cell=lstm encoder.first=zero
    decoder.cell=lstm decoder.layers=2 decoder.deep=true
translation encoder.layers=2 encoder.bidirectional=false encoder.residual=true
    decoder.condition=["every-step","attention"]
translation encoder.bidirectional=false encoder.values=embeddings encoder.cell=lstm decoder.cell=lstm
translation encoder.cell={"type":"gru","reset":"before"} encoder.bidirectional=false encoder.direction=backward
    decoder.cell={"type":"gru","reset":"before","update":"cho","activation":"sigmoid"}
translation encoder.cell={"type":"lstm","activation":"sigmoid"} encoder.layers=3 encoder.bidirectional=false
    encoder.direction=alternate decoder.cell={"type":"lstm","activation":"relu"}
translation encoder.cell={"type":"mrnn"} encoder.layers=2 encoder.bidirectional=false encoder.direction=backward
    decoder.cell=jordan
translation encoder.cell={"type":"deep","input":1,"transition":3,"output":2,"skip":true}
    decoder.cell={"type":"deep","output":1,"activation":"sigmoid"}
translation encoder={"type":"mean","embedding":5} attention={"select":{"type":"hard","read":"expectation"}}
translation encoder.parents={"size":4,"score":"additive","select":"spanning"}
translation inputs.source.shared=target encoder.embedding=5 decoder.embedding=5 decoder.tie=all
translation attention.select=sparsemax
translation attention.select={"type":"entmax","alpha":1.3} attention.state=current
translation decoder.bridge=linear decoder.layers=2
translation decoder.bridge=copy encoder.cell=lstm decoder.cell=lstm
translation-no-attention encoder.layers=3 encoder.direction=alternate encoder.residual=true decoder.layers=3
translation-no-attention encoder.layers=2 encoder.bidirectional=true encoder.direction=forward encoder.size=6
    decoder.layers=2 decoder.cell=gru
caption-start decoder.bridge=tanh encoder.network.connected_norm=true
caption-start decoder.bridge=tanh
    encoder.network={"type":"vgg","channels":[3,4],"connected":12,"stride":4,"normalize":"batch","connected_norm":true}
caption-start decoder={"type":"recurrent","size":12,"embedding":5,"condition":["first-input"]}
caption-start
    decoder={"type":"recurrent","cell":"lstm","layers":2,"size":12,"embedding":5,"condition":["first-input","every-step"]}
caption-start decoder={"type":"recurrent","size":12,"embedding":5,"condition":["output"],"tie":"output"}
caption-start
    decoder={"type":"recurrent","layers":2,"residual":true,"size":12,"embedding":5,"condition":["gate"],"tie":"output"}
caption attention={"state":"previous","gate":true,"coverage":1} decoder.cell=lstm decoder.deep=true
    encoder.network.connected=null
translation attention={"select":{"type":"local","window":2},"gate":true} decoder.layers=2 decoder.residual=true
image-qa-attention
    decoder.caption={"type":"recurrent","size":6,"embedding":5,"attention":[{"over":"image"},{"over":"question","gate":true}]}
nli-words
    decoder={"type":"label","glimpses":2,"where":true,"whole":true,"attention":{"premise":{},"hypothesis":{"select":"sparsemax"}}}
nli-words decoder={"type":"label","hidden":6,"attention":{"score":{"type":"additive","size":5}}}
image-qa-attention decoder.caption={"type":"recurrent","size":6,"embedding":5,"attention":{"score":"general"}}
summary-hierarchical attention.gate=true
caption decoder.condition=["start","output","gate","attention"] attention.state=previous
caption decoder.condition=["output","gate","attention"] decoder.deep=true
translation-no-attention encoder={"type":"transformer","size":6,"embedding":6,"heads":2,"layers":2,"distances":2}
    decoder={"type":"transformer","size":6,"embedding":5,"heads":3,"layers":2,"label_smoothing":0.2,"distances":2}
translation-no-attention
    encoder={"type":"transformer","size":6,"embedding":5,"heads":1,"norm":"post","positions":"learned"}
    decoder={"type":"transformer","size":6,"embedding":6,"heads":2,"norm":"post","positions":"learned","tie":"output"}
image-qa-attention decoder.caption={"type":"transformer","size":6,"embedding":6,"heads":2,"layers":2}
    encoder.question={"type":"transformer","size":6,"embedding":6,"heads":2,"parents":{"size":3}}
translation-luong attention.feed=false
summary-hierarchical attention.level=words attention.score=general decoder.copy=false metrics=["exact"]
summary-hierarchical encoder.words.values=inputs encoder.sentences.values=inputs encoder.sentences.bidirectional=false
image-qa-attention decoder.caption={"type":"feed-forward","order":2,"size":6,"embedding":4}
graph-path encoder.map.back=true encoder.map.steps=3 encoder.map.cell=rnn decoder.attention.select=sparsemax
graph-path encoder.map.cell=gru encoder.map.words={"cell":"gru","size":3,"embedding":4}
table-text encoder.layers=2 encoder.words={"cell":"gru","size":3,"embedding":4}
table-text encoder.words={"cell":"lstm","size":3,"embedding":4,"values":"inputs","bidirectional":false}
    attention={"level":"both","state":"current"} decoder.copy=true metrics=["exact"]
headline decoder.order=3 encoder.window=1 attention={"guide":0.5} decoder.label_smoothing=0.1
translation-no-attention encoder={"type":"smoothed","embedding":5,"parents":{"size":3}}
    decoder={"type":"feed-forward","order":2,"size":6,"embedding":4,"attention":{"score":"additive","select":"sparsemax"}}
translation decoder.copy=true attention={"score":"history","repetition":0.5}
translation decoder.copy=true decoder.layers=2 decoder.cell=lstm attention.repetition=2 decoder.deep=true
translation-luong decoder.copy={"from":"source"} attention.feed=false
translation-luong decoder.copy=source attention.select=sparsemax attention.score=history decoder.tie=output
nli-syntax encoder.premise.parents.score=additive encoder.premise.parents.select=spanning
    decoder.compare=concatenation
nli-syntax encoder.premise.parents.select={"type":"projective","estimate":"straight-through"}
nli-syntax encoder.premise.parents.select={"type":"spanning","estimate":"perturbed"}
nli-syntax encoder.premise.parents.select={"type":"projective","estimate":"sparsemap"}
nli-syntax encoder.premise.parents.select={"type":"projective","estimate":"em"}
nli-plain decoder.attend=network decoder.compare=concatenation
nli-self encoder.premise.parents.select=sigmoid encoder.premise.scaled=true
nli-self encoder.premise.parents.select=uniform
nli-words decoder.attention={"score":"general","select":"sparsemax"} encoder.premise.bidirectional=false
nli-words decoder.attention={"score":{"type":"location","reach":2}} encoder.premise.cell=lstm
nli-words decoder.cell=gru
nli-words decoder.cell=lstm decoder.ask=sum decoder.attention={"score":"scaled-dot"}
formula encoder.rows=true
    encoder.network={"type":"vgg","channels":[3,4],"blocks":2,"stride":2,"normalize":"place"}
caption encoder.position=none
    encoder.network={"type":"resnet","channels":[3,4,4],"blocks":2,"stride":4,"normalize":"batch"}
caption encoder.network={"type":"resnet","channels":[3,4],"stride":1}
caption encoder.network=lenet attention.guide=1
video-class-attention encoder.values=frames encoder.network={"type":"vgg","channels":[3,4],"stride":4}
video-class encoder={"type":"video","network":{"type":"vgg","channels":[3,4],"stride":4},"cell":null}
video-caption-both encoder.cell=lstm encoder.bidirectional=false encoder.values=frames
    encoder.network={"type":"resnet","channels":[3,4],"stride":4}
video-class-attention decoder.attention.select=sigmoid decoder.where=true decoder.whole=true
image-qa-attention decoder.answer.glimpses=1 decoder.answer.combine=beside decoder.answer.attention.guide=0.5
image-qa-attention
    decoder.caption={"type":"recurrent","size":6,"embedding":5,"attention":[{"over":"image"},{"over":"question","score":{"type":"location","reach":2}}]}
image-qa decoder.attention={"over":"image"} decoder.glimpses=4 decoder.hidden=6 decoder.whole=true
image-qa decoder.combine=gated
speech attention={"score":"perceptron","state":"current"}
translation-segments-word attention.select={"type":"segments","estimate":"straight-through"}
translation-segments-word attention.select={"type":"segments","estimate":"em"}
translation-segments-word attention.select={"type":"segments","estimate":"sparsemap"}
speech attention.score={"type":"perceptron","size":3} attention.select=segments
speech-location attention.score.bias=true
translation attention={"score":{"type":"additive","bias":true},"select":"segments"}
translation attention={"score":{"type":"history","bias":true}}
image-class-residual encoder.network.blocks=3
speech encoder.reductions=3 encoder.cell=lstm
speech encoder.layers=4 encoder.reductions=1 attention.select=segments
facts decoder.read=all
facts decoder.read=last attention.guide=0.5 encoder.story.position=false encoder.question.position=false
facts encoder.story.tie=adjacent encoder.story.hops=3
facts encoder.story.tie=adjacent encoder.story.hops=3 decoder.tie=true decoder.carry=add encoder.story.last=9
facts encoder.story.sentence=recurrent encoder.question={"type":"recurrent","size":3,"embedding":5}
    attention.score=additive
facts-structured attention.guide=2 encoder.story.tie=adjacent encoder.story.hops=3 encoder.story.ages=2
facts-structured decoder={"type":"memory-network","read":"sum","reach":1}
facts-structured decoder.read=all
facts-structured decoder.tie=true
facts-structured decoder.carry=add decoder.reach=2 encoder.story.tie=adjacent encoder.story.hops=3
dialog-memory inputs.dialog.shared=response inputs.utterance.shared=response decoder.tie=true
dialog-memory decoder={"type":"retrieval","embedding":5,"query":"utterance"} attention.over=dialog
dialog-memory attention.select=facts decoder.fewer=true
document-class encoder.words.values=states encoder.sentences.values=states encoder.words.first=zero
document-class encoder.words.cell=lstm encoder.words.bidirectional=false encoder.sentences.cell=lstm
document-class encoder.words={"cell":null,"embedding":5} encoder.attention={"score":"linear","select":"sparsemax"}
    encoder.sentences={"cell":null}
document-class encoder.attention={"select":"sigmoid"} encoder.sentences={"bidirectional":false,"first":"zero","size":4}
document-class-hierarchical encoder.words.bidirectional=false encoder.words.cell=lstm
document-class-hierarchical encoder.words={"cell":null,"embedding":5} encoder.sentences.cell=lstm
stars decoder={"type":"ordinal","hidden":6,"attention":{"score":"additive"}}
stars outputs={"stars":{"type":"soft-label"}} decoder={"type":"soft-label","attention":{"score":"additive"}}
    metrics=["accuracy"] training.metric=accuracy
sentiment outputs={"span":{"type":"span"}} decoder={"type":"span","score":"additive","longest":2}
    metrics=["exact"] training.metric=exact
spans decoder={"type":"span","score":{"type":"additive","bias":true},"longest":9}
topics decoder={"type":"multilabel","class_weights":"balanced"}
topics decoder={"type":"multilabel","threshold":0.5,"attention":{"guide":2,"score":"general"}}
nli-words outputs={"labels":{"type":"multilabel"}}
    decoder={"type":"multilabel","query":"hypothesis","attention":{"over":"premise"}}
    metrics=["micro_f1"] training.metric=micro_f1
nli-words outputs={"labels":{"type":"multilabel"}} decoder={"type":"multilabel","attention":{"score":"general"}}
    metrics=["micro_f1"] training.metric=micro_f1
tree-lstm encoder.structure=balanced encoder.compose=child-sum
tree-lstm encoder.compose=child-sum
tree-lstm encoder.structure=latent
tree-lstm encoder.structure=latent encoder.compose=child-sum
tree-rnn encoder.structure=latent decoder.attention={"score":"additive"}
tree-tensor outputs.value={"type":"brackets","field":"values"} decoder={"type":"nodes"} metrics=["node_accuracy"]
    training.metric=node_accuracy
ntm-copy decoder.store.heads=2 decoder.cell=gru
ntm-copy decoder.store=null decoder.cell=rnn
dnc decoder.store.heads=2
dnc decoder.store.free=false
dnc decoder.store.free=true
lie-access decoder.store={"type":"lie","width":3,"move":"rotate","weights":"softmax","heads":2}
lie-access decoder.store={"type":"lie","width":3,"move":"rotate","reach":0.7}
lie-access decoder.store={"type":"lie","width":3,"reach":1.5}
tagger-crf decoder.decode=marginal encoder.cell=gru
parser-crf decoder.structure=spanning
parser-constituents decoder.decode=marginal encoder.cell=gru
lm-word decoder.layers=2 decoder.tie=none
lm-word decoder.layers=2 decoder.activity=2 decoder.change=1
lm-word decoder.layers=3 decoder.cell=gru decoder.tie=none decoder.output=adaptive
    decoder.cutoffs=[2,5] decoder.size=16
lm-word decoder.cell=rnn decoder.embedding=12
lm-word decoder.first=learned decoder.cell=gru
lm-word decoder.first=random decoder.layers=2
lm-self decoder.reach=3 decoder.distances=1 decoder.embedding=6 decoder.word_dropout=0.1
lm-self decoder.norm=post decoder.tie=none decoder.layers=1 decoder.heads=1
lm-window decoder.order=2 decoder.tie=none decoder.output=adaptive decoder.cutoffs=[3]
pointer-hull encoder.values=embeddings encoder.bidirectional=false decoder.cell=gru attention.score=general
pointer-tsp encoder.layers=2 encoder.bidirectional=false encoder.direction=alternate decoder.cell=mrnn
pointer-tsp encoder.layers=2 encoder.residual=true encoder.cell=gru decoder.layers=3 decoder.residual=true
pointer-delaunay encoder.first=zero decoder.layers=2 decoder.size=12 attention.score=dot
"""


def variants() -> list[list[str]]:
    """[system, override, …] lists; an indented line continues the previous one."""
    return [line.split() for line in VARIANTS.replace("\n    ", " ").strip().splitlines()]
